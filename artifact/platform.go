package artifact

import (
	"encoding/binary"
	"path"
)

// headBytes is how much of a file's beginning tells what it is.
const headBytes = 4 << 10

// programFor tells which platform a program was built for, as "linux/amd64", or "" where head begins no program.
// Libraries and object files are no programs.
func programFor(name string, mode uint32, head []byte) string {
	switch {
	case len(head) >= 20 && string(head[:4]) == "\x7fELF":
		return elf(name, mode, head)
	case len(head) >= 16 && machMagic(head) != nil:
		return mach(head, machMagic(head))
	case len(head) >= 64 && string(head[:2]) == "MZ":
		return pe(head)
	case len(head) >= 16 && binary.BigEndian.Uint32(head) == 0xcafebabe:
		// A Java class begins alike; there its version follows, which is 45 at least.
		if n := binary.BigEndian.Uint32(head[4:]); n > 0 && n < 30 && mode&0o111 != 0 {
			return "darwin/universal"
		}
	}
	return ""
}

func elf(name string, mode uint32, head []byte) string {
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	const executable, shared = 2, 3
	switch order.Uint16(head[16:]) {
	case executable:
	case shared: // a program that can be loaded anywhere, or a library
		if mode&0o111 == 0 || library(path.Base(name)) {
			return ""
		}
	default:
		return ""
	}
	arch, ok := map[uint16]string{
		3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
	}[order.Uint16(head[18:])]
	if !ok {
		arch = "other"
	}
	if head[5] == 1 && arch == "ppc64" {
		arch = "ppc64le"
	}
	if head[7] == 9 {
		return "freebsd/" + arch
	}
	return "linux/" + arch
}

func machMagic(head []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if m := order.Uint32(head); m == 0xfeedface || m == 0xfeedfacf {
			return order
		}
	}
	return nil
}

func mach(head []byte, order binary.ByteOrder) string {
	const executable = 2
	if order.Uint32(head[12:]) != executable {
		return ""
	}
	switch order.Uint32(head[4:]) {
	case 0x01000007:
		return "darwin/amd64"
	case 0x0100000c:
		return "darwin/arm64"
	}
	return "darwin/other"
}

func pe(head []byte) string {
	at := uint64(binary.LittleEndian.Uint32(head[60:]))
	if at+96 > uint64(len(head)) || string(head[at:at+4]) != "PE\x00\x00" {
		return ""
	}
	const executable, library = 0x2, 0x2000
	if flags := binary.LittleEndian.Uint16(head[at+22:]); flags&executable == 0 || flags&library != 0 {
		return ""
	}
	// Only programs with a window or a console: boot loaders and kernels wear this header as well.
	if subsystem := binary.LittleEndian.Uint16(head[at+92:]); subsystem != 2 && subsystem != 3 {
		return ""
	}
	switch binary.LittleEndian.Uint16(head[at+4:]) {
	case 0x14c:
		return "windows/386"
	case 0x8664:
		return "windows/amd64"
	case 0xaa64:
		return "windows/arm64"
	}
	return "windows/other"
}
