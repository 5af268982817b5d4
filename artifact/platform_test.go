package artifact

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"
)

// programHeader is the beginning of a program for a platform, padded.
func programHeader(platform string) []byte {
	b := make([]byte, 512)
	le, be := binary.LittleEndian, binary.BigEndian
	elf := func(machine uint16, order binary.ByteOrder, data byte, osabi byte) {
		copy(b, "\x7fELF")
		b[4], b[5], b[6], b[7] = 2, data, 1, osabi
		order.PutUint16(b[16:], 2)
		order.PutUint16(b[18:], machine)
	}
	mach := func(cpu uint32) {
		le.PutUint32(b, 0xfeedfacf)
		le.PutUint32(b[4:], cpu)
		le.PutUint32(b[12:], 2)
	}
	pe := func(machine uint16) {
		copy(b, "MZ")
		le.PutUint32(b[60:], 128)
		copy(b[128:], "PE\x00\x00")
		le.PutUint16(b[132:], machine)
		le.PutUint16(b[150:], 0x22)
		le.PutUint16(b[220:], 3)
	}
	switch platform {
	case "linux/amd64":
		elf(62, le, 1, 0)
	case "linux/arm64":
		elf(183, le, 1, 3)
	case "linux/s390x":
		elf(22, be, 2, 0)
	case "freebsd/amd64":
		elf(62, le, 1, 9)
	case "darwin/amd64":
		mach(0x01000007)
	case "darwin/arm64":
		mach(0x0100000c)
	case "windows/amd64":
		pe(0x8664)
	case "windows/arm64":
		pe(0xaa64)
	}
	return b
}

func TestProgramFor(t *testing.T) {
	for _, p := range []string{"linux/amd64", "linux/arm64", "linux/s390x", "freebsd/amd64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		if got := programFor("x", 0o755, programHeader(p)); got != p {
			t.Errorf("programFor(%s) = %q", p, got)
		}
	}
	change := func(platform string, at int, to byte) []byte {
		b := programHeader(platform)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		file string
		mode uint32
		head []byte
		want string
	}{
		"object file":        {"x.o", 0o755, change("linux/arm64", 16, 1), ""},
		"pie":                {"x", 0o755, change("linux/arm64", 16, 3), "linux/arm64"},
		"library":            {"x.so.1", 0o755, change("linux/arm64", 16, 3), ""},
		"library, not exec":  {"x", 0o644, change("linux/arm64", 16, 3), ""},
		"dylib":              {"x.dylib", 0o755, change("darwin/arm64", 12, 6), ""},
		"dll":                {"x.dll", 0o755, change("windows/amd64", 151, 0x20), ""},
		"kernel":             {"vmlinuz", 0o755, change("windows/amd64", 220, 10), ""},
		"pe beyond the head": {"x.exe", 0o755, change("windows/amd64", 62, 1), ""},
		"universal":          {"x", 0o755, append([]byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2}, make([]byte, 64)...), "darwin/universal"},
		"java class":         {"X.class", 0o755, append([]byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61}, make([]byte, 64)...), ""},
		"script":             {"x", 0o755, []byte("#!/bin/sh\necho hello, this is a script\n"), ""},
		"short":              {"x", 0o755, []byte("\x7fELF"), ""},
		"empty":              {"x", 0o755, nil, ""},
	} {
		if got := programFor(c.file, c.mode, c.head); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A real program of this machine is one for this machine.
func TestProgramForThisProgram(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	b, err := os.ReadFile(exe)
	must(t, err)
	if got := programFor("x", 0o755, b[:headBytes]); got != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("this program is for %q, not %q", got, runtime.GOOS+"/"+runtime.GOARCH)
	}
}

func FuzzProgramFor(f *testing.F) {
	for _, p := range []string{"linux/amd64", "darwin/arm64", "windows/amd64"} {
		f.Add(programHeader(p))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		programFor("x", 0o755, head)
	})
}
