"""From bytes of logs to findings: one pass, literals first, regular expressions only on lines that hold one."""
