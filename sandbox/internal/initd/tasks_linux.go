package initd

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// tasks is what a look through /proc showed of a uid.
type tasks struct {
	processes int // the dead that nobody has collected among them
	threads   int
	missed    bool // a process ended while it was looked at: whose it was, and what it left, is not known
}

// missedWithin bounds looking again for what was missed: another session may start and end processes all the time, and
// none of hundreds of kills in a row can have met nothing of ours that lives.
const missedWithin = time.Second

// gone reports whether nothing of a uid is left, of which nothing was seen for a time.
func (t tasks) gone(unseen time.Duration) bool {
	return t.processes == 0 && (!t.missed || unseen > missedWithin)
}

func tasksOf(uid int) (tasks, error) { return tasksIn("/proc", uid) }

func tasksIn(proc string, uid int) (t tasks, err error) {
	d, err := os.Open(proc)
	if err != nil {
		return t, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return t, err
	}
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' || name == "1" { // PID 1 is the init itself
			continue
		}
		b, err := os.ReadFile(proc + "/" + name + "/status")
		if err != nil {
			t.missed = true
			continue
		}
		if field(b, "Uid:") != strconv.Itoa(uid) {
			continue
		}
		t.processes++
		if n, err := strconv.Atoi(field(b, "Threads:")); err == nil {
			t.threads += n
		}
	}
	return t, nil
}

// field is the first word of the last line that begins with name: a process chooses its own name, which comes first
// and may hold a line break.
func field(status []byte, name string) string {
	i := bytes.LastIndex(status, []byte("\n"+name))
	if i < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(status[i+1+len(name):], []byte("\n"))
	if f := bytes.Fields(line); len(f) > 0 {
		return string(f[0])
	}
	return ""
}
