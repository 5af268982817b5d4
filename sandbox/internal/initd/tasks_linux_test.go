package initd

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMissed: a process that is gone when it is looked at is not one that was seen to be none of the uid's.
func TestMissed(t *testing.T) {
	proc := t.TempDir()
	for name, status := range map[string]string{"self": "", "7": "Name:\tx\nUid:\t5\t5\t5\t5\nThreads:\t2\n", "8": ""} {
		if err := os.Mkdir(filepath.Join(proc, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if status == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(proc, name, "status"), []byte(status), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := tasksIn(proc, 5); err != nil || got != (tasks{processes: 1, threads: 2, missed: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.Remove(filepath.Join(proc, "8")); err != nil {
		t.Fatal(err)
	}
	if got, err := tasksIn(proc, 6); err != nil || got != (tasks{}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		tasks
		since time.Duration
		want  bool
	}{
		{tasks{}, 0, true},
		{tasks{processes: 1}, 0, false},
		{tasks{missed: true}, 0, false},
		{tasks{missed: true}, 2 * missedWithin, true},
		{tasks{processes: 1}, 2 * missedWithin, false},
	} {
		if got := c.gone(c.since); got != c.want {
			t.Errorf("%+v", c)
		}
	}
}

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
