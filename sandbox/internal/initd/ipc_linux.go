package initd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ipcDir is where Linux lists the objects of System V's tables. gVisor has the tables and no list of them.
const ipcDir = "/proc/sysvipc/"

// ipcTable is one of System V's tables of objects, which outlive who made them.
type ipcTable struct {
	name, id string // in ipcDir, and of its column there
	make     func() (uintptr, unix.Errno)
	remove   func(id int) unix.Errno
}

var ipcTables = []ipcTable{
	{"shm", "shmid", func() (uintptr, unix.Errno) { return ipcCall(unix.SYS_SHMGET, 0, 4096, 0o600) }, func(id int) unix.Errno {
		_, e := ipcCall(unix.SYS_SHMCTL, uintptr(id), 0, 0)
		return e
	}},
	{"msg", "msqid", func() (uintptr, unix.Errno) { return ipcCall(unix.SYS_MSGGET, 0, 0o600, 0) }, func(id int) unix.Errno {
		_, e := ipcCall(unix.SYS_MSGCTL, uintptr(id), 0, 0)
		return e
	}},
	{"sem", "semid", func() (uintptr, unix.Errno) { return ipcCall(unix.SYS_SEMGET, 0, 1, 0o600) }, func(id int) unix.Errno {
		_, e := ipcCall(unix.SYS_SEMCTL, uintptr(id), 0, 0)
		return e
	}},
}

func ipcCall(call, a, b, c uintptr) (uintptr, unix.Errno) {
	r, _, e := unix.RawSyscall6(call, a, b, c, 0, 0, 0)
	return r, e
}

// probe makes an object and removes it again: where there is no list, ids are given out in ascending order, so this
// tells how far they have come. It is -1 where the system has no such table.
func (t ipcTable) probe() (int, error) {
	id, e := t.make()
	switch e {
	case 0:
		if e := t.remove(int(id)); e != 0 {
			return 0, fmt.Errorf("removing an object of the table %s: %w", t.name, e)
		}
		return int(id), nil
	case unix.ENOSYS:
		return -1, nil
	}
	return 0, e
}

// listed are the ids of what uid made or owns; fs.ErrNotExist where there is no list.
func (t ipcTable) listed(uid int) ([]int, error) {
	b, err := os.ReadFile(ipcDir + t.name)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	head := strings.Fields(lines[0])
	at, own, made := slices.Index(head, t.id), slices.Index(head, "uid"), slices.Index(head, "cuid")
	var ids []int
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if at < 0 || own < 0 || made < 0 || len(f) <= max(at, own, made) {
			return nil, fmt.Errorf("the table %s is not as it is known", t.name)
		}
		if f[own] != strconv.Itoa(uid) && f[made] != strconv.Itoa(uid) {
			continue
		}
		id, err := strconv.Atoi(f[at])
		if err != nil {
			return nil, fmt.Errorf("the table %s is not as it is known: %w", t.name, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ipcMarks are how far the ids had come in each table when a session began; nil where there are lists.
type ipcMarks []int

func markIPC() (ipcMarks, error) {
	if _, err := os.Stat(ipcDir); err == nil {
		return nil, nil
	}
	m := make(ipcMarks, len(ipcTables))
	for i, t := range ipcTables {
		var err error
		if m[i], err = t.probe(); errors.Is(err, unix.ENOSPC) {
			m[i], err = 0, nil // a full table: what is to be removed is looked for from its beginning
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ipcEmpty reports whether the session that began at m certainly has no object.
func ipcEmpty(uid int, m ipcMarks) bool {
	for i, t := range ipcTables {
		if m == nil {
			if ids, err := t.listed(uid); err != nil && !errors.Is(err, fs.ErrNotExist) || len(ids) > 0 {
				return false
			}
			continue
		}
		if now, err := t.probe(); err != nil || now != m[i]+1 && now != -1 {
			return false
		}
	}
	return true
}

func (m ipcMarks) String() string {
	s := make([]string, len(m))
	for i := range m {
		s[i] = strconv.Itoa(m[i])
	}
	return strings.Join(s, " ")
}

func parseMarks(s string) (ipcMarks, error) {
	f := strings.Fields(s)
	m := make(ipcMarks, len(f))
	for i := range f {
		var err error
		if m[i], err = strconv.Atoi(f[i]); err != nil {
			return nil, err
		}
	}
	if len(m) > 0 && len(m) != len(ipcTables) {
		return nil, fmt.Errorf("%d marks of %d tables", len(m), len(ipcTables))
	}
	return m, nil
}

// removeIPC removes the objects that the calling process's uid has made since m.
func removeIPC(uid int, m ipcMarks) error {
	var errs []error
	for i, t := range ipcTables {
		if len(m) > 0 {
			errs = append(errs, t.removeFrom(m[i]))
			continue
		}
		ids, err := t.listed(uid)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, id := range ids {
			if e := t.remove(id); e != 0 && e != unix.EINVAL && e != unix.EIDRM {
				errs = append(errs, fmt.Errorf("removing an object of the table %s: %w", t.name, e))
			}
		}
	}
	return errors.Join(errs...)
}

// mostIDs bounds a search through a table that is full to its end, so that nobody can tell where the ids are.
const mostIDs = 1 << 20

// removeFrom tries every id after from: what is another's cannot be removed.
func (t ipcTable) removeFrom(from int) error {
	if from < 0 {
		return nil
	}
	const some = 4096
	end, err := t.probe()
	for id := from + 1; ; id++ {
		if errors.Is(err, unix.ENOSPC) && (id-from)%some == 0 { // room may have been made
			end, err = t.probe()
		}
		switch {
		case err != nil && !errors.Is(err, unix.ENOSPC):
			return err
		case err != nil && id-from > mostIDs, err == nil && end < from:
			return fmt.Errorf("the table %s cannot be searched", t.name)
		case err == nil && id >= end:
			return nil
		}
		if e := t.remove(id); e != 0 && e != unix.EINVAL && e != unix.EIDRM && e != unix.EPERM && e != unix.EACCES {
			return fmt.Errorf("removing an object of the table %s: %w", t.name, e)
		}
	}
}
