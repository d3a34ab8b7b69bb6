"""Tables of coded columns, and the encoder that makes them from raw columns."""
