"""What a circuit is: gates, ansätze, encodings, and the plain-data form that files hold."""
