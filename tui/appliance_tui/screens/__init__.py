"""What fills the frame."""
