"""The status DB: the store of every grid job, and its face in XML."""
