//! Classes of frames in switches and NICs, and the traffic classes of a scenario that they carry.

/// First class that carries data. Lower classes carry control packets and have one FIFO queue per
/// port.
// SW-03
pub const DATA_CLASS: u8 = 2;

/// Class of replies and other control packets if a preset gives them priority.
pub const CONTROL_CLASS: u8 = 1;

/// Number of traffic classes that a scenario can use: one for each priority of IEEE 802.1Q.
// SW-03: eight traffic classes
pub const TRAFFIC_CLASSES: usize = 8;

/// Number of classes of frames. Class 0 carries the control frames between neighbours (pauses).
/// Class 1 carries ACK, NAK and CNP if a preset gives them priority. Data classes start at
/// [`DATA_CLASS`].
pub const MAX_CLASSES: usize = DATA_CLASS as usize + TRAFFIC_CLASSES;

/// A set of classes; bit n is class n.
pub type ClassSet = u16;

const _: () = assert!(MAX_CLASSES <= ClassSet::BITS as usize);

/// Returns the classes of a set in ascending order.
pub fn classes_of(set: ClassSet) -> impl Iterator<Item = u8> {
    (0..MAX_CLASSES as u8).filter(move |class| set >> class & 1 != 0)
}

/// Returns the traffic class, as numbered in a scenario, of a class of frames. Returns `None` for
/// the classes of control frames between neighbours and of control packets.
// SW-03: results use the class numbers of the scenario
#[must_use]
pub const fn traffic_class(class: u8) -> Option<u8> {
    class.checked_sub(DATA_CLASS)
}

/// Returns a label of a class for messages, for example `traffic class 1`.
#[must_use]
pub fn class_label(class: u8) -> String {
    match (traffic_class(class), class) {
        (Some(traffic), _) => format!("traffic class {traffic}"),
        (None, CONTROL_CLASS) => "the control class".to_owned(),
        (None, _) => "the class of frames between neighbours".to_owned(),
    }
}

/// Returns a label of a set of classes for messages.
#[must_use]
pub fn class_labels(set: ClassSet) -> String {
    let labels: Vec<String> = classes_of(set).map(class_label).collect();
    match labels.is_empty() {
        true => "no class".to_owned(),
        false => labels.join(", "),
    }
}
