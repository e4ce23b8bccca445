"""What a program writes controllers with: the builder, finalizers and events."""
