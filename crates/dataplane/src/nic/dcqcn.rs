//! Dcqcn (to be written).
use crate::config::DcqcnConfig;
use crate::nic::control::{AckInfo, PathInfo};
use crate::units::Time;

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Dcqcn {}
