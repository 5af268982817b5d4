package initd

import (
	"bytes"
	"os"
	"strconv"
)

// tasksOf counts the processes of a uid, the dead that nobody has collected among them, or its threads.
func tasksOf(uid int, processes bool) (int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil {
			continue // gone
		}
		if field(b, "Uid:") != strconv.Itoa(uid) {
			continue
		}
		if processes {
			n++
		} else if t, err := strconv.Atoi(field(b, "Threads:")); err == nil {
			n += t
		}
	}
	return n, nil
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
