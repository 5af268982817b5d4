package plain

import "unicode/utf8"

// Line makes a text one safe line of at most about n bytes; a mark stands for what is cut off.
func Line(s string, n int) string {
	s = string(Escape([]byte(s)))
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
