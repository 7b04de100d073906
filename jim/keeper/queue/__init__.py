"""Everything that talks with the batch system: submissions, listings, wishes about batch jobs."""
