//! The classes of frames inside the dataplane, and the traffic classes of a scenario that they carry.

/// First class that carries data. Each class below it has one FIFO queue per port.
// SW-03
pub const DATA_CLASS: u8 = 2;

/// The class of replies and other control packets to which a preset gives priority.
pub const CONTROL_CLASS: u8 = 1;

/// Number of traffic classes that a scenario can use: one for each priority of IEEE 802.1Q.
// SW-03: eight traffic classes
pub const TRAFFIC_CLASSES: usize = 8;

/// Number of classes that a frame can belong to. Class 0 carries the frames between neighbours
/// (pauses), class 1 carries ACK, NAK and CNP where a preset gives them priority, data starts at
/// [`DATA_CLASS`].
pub const MAX_CLASSES: usize = DATA_CLASS as usize + TRAFFIC_CLASSES;

/// A set of classes; bit n is class n.
pub type ClassSet = u16;

const _: () = assert!(MAX_CLASSES <= ClassSet::BITS as usize);

/// The classes of a set, ascending.
pub fn classes_of(set: ClassSet) -> impl Iterator<Item = u8> {
    (0..MAX_CLASSES as u8).filter(move |class| set >> class & 1 != 0)
}

/// Returns the traffic class of a scenario that a class carries; `None` for the classes of frames
/// between neighbours and of control.
// SW-03: results use the scenario's numbers
#[must_use]
pub const fn traffic_class(class: u8) -> Option<u8> {
    class.checked_sub(DATA_CLASS)
}

/// Describes a class in messages: `traffic class 1`, or what it carries.
#[must_use]
pub fn class_label(class: u8) -> String {
    match (traffic_class(class), class) {
        (Some(traffic), _) => format!("traffic class {traffic}"),
        (None, CONTROL_CLASS) => "the control class".to_owned(),
        (None, _) => "the class of frames between neighbours".to_owned(),
    }
}

/// Describes the classes of a set in messages.
#[must_use]
pub fn class_labels(set: ClassSet) -> String {
    let labels: Vec<String> = classes_of(set).map(class_label).collect();
    match labels.is_empty() {
        true => "no class".to_owned(),
        false => labels.join(", "),
    }
}
