"""Several policies in one run: a multi-agent environment is one row, and each policy learns from its agents' part.

fragment [T, N] of joint observations -> Splitter: transitions of each agent -> memory of each policy
joint action <- MultiPolicyAgent <- the agents of the policies <- MultiPolicyLearner
"""
