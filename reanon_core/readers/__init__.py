"""What a reader learns of the people in releases who knows the source of the technique and its parameters."""
