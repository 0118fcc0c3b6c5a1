//! The switch (under construction).
