"""Workers, a data server and learners in processes of their own, through Ray. The only place that imports ray."""
