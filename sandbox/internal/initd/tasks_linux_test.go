package initd

import "testing"

// TestField: a process that names itself like a line of its status does not hide.
func TestField(t *testing.T) {
	status := []byte("Name:\tx\nUid:\t0\t0\t0\nState:\tS\nUid:\t10002\t10002\t10002\t10002\nThreads:\t3\n")
	if got := field(status, "Uid:"); got != "10002" {
		t.Errorf("%q", got)
	}
	if got := field(status, "Threads:"); got != "3" {
		t.Errorf("%q", got)
	}
	if got := field(status, "Nothing:"); got != "" {
		t.Errorf("%q", got)
	}
}
