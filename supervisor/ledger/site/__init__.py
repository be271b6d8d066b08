"""The site's ledger: one small file of lines for each job, written by its user, read by everybody who may."""
