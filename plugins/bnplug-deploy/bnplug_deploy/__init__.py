"""Network files of Hugin and GeNIe."""
