package initd

import "golang.org/x/sys/unix"

const nproc = unix.RLIMIT_NPROC

// cores are those that this thread may run on.
func cores() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 0
	}
	return set.Count()
}

// theGroups are those of this box.
var theGroups = groups{at: "/sys/fs/cgroup", real: func(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && (fs.Type == unix.CGROUP2_SUPER_MAGIC || fs.Type == unix.CGROUP_SUPER_MAGIC)
}}
