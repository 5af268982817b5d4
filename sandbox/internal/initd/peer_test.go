//go:build unix

package initd

import (
	"net/netip"
	"strings"
	"testing"
)

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func row(local, remote, state, uid string) string {
	return "   0: " + local + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000 " + uid + "        0 4711 1 0 20 4 30 10 -1\n"
}

// Whose a connection over loopback is stands in the list of either family, mapped or not.
func TestWhoseSocketItIs(t *testing.T) {
	const (
		listening, established, waiting = "0A", "01", "06"

		four, four2       = "0100007F:1F90", "0100007F:C000"
		mapped, mapped2   = "0000000000000000FFFF00000100007F:1F90", "0000000000000000FFFF00000100007F:C000"
		six, six2         = "00000000000000000000000001000000:1F90", "00000000000000000000000001000000:C000"
		any4, any6        = "00000000:1F90", "00000000000000000000000000000000:1F90"
		nobody4, nobody6  = "00000000:0000", "00000000000000000000000000000000:0000"
		elsewhere, nearby = "0100007F:1F91", "0200007F:1F90"
	)
	port := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	near4, far4, near6, far6 := port("127.0.0.1:49152"), port("127.0.0.1:8080"), port("[::1]:49152"), port("[::1]:8080")
	for name, c := range map[string]struct {
		rows      string
		near, far netip.AddrPort
		uid       int
		known     bool
	}{
		"accepted":                          {row(four, four2, established, "7"), near4, far4, 7, true},
		"accepted, mapped":                  {row(mapped, mapped2, established, "7"), near4, far4, 7, true},
		"accepted, IPv6":                    {row(six, six2, established, "7"), near6, far6, 7, true},
		"this end is not the other":         {row(four2, four, established, "7"), near4, far4, 0, false},
		"another connection":                {row(four, elsewhere, established, "7"), near4, far4, 0, false},
		"a listener of another's":           {row(four, nobody4, listening, "8") + row(four, four2, established, "7"), near4, far4, 7, true},
		"not yet accepted":                  {row(four, nobody4, listening, "7") + row(four, four2, established, "0"), near4, far4, 7, true},
		"not listed before it is accepted":  {row(any4, nobody4, listening, "7"), near4, far4, 7, true},
		"one of IPv6 takes both":            {row(any6, nobody6, listening, "7"), near4, far4, 7, true},
		"one of IPv4 takes no IPv6":         {row(any4, nobody4, listening, "7"), near6, far6, 0, false},
		"one of IPv6":                       {row(six, nobody6, listening, "7"), near6, far6, 7, true},
		"mapped listener":                   {row(mapped, nobody6, listening, "7"), near4, far4, 7, true},
		"of two listeners either may be it": {row(any4, nobody4, listening, "7") + row(any6, nobody6, listening, "8"), near4, far4, 0, false},
		"the init's own":                    {row(four, nobody4, listening, "0"), near4, far4, 0, true},
		"another port, another address":     {row(elsewhere, nobody4, listening, "7") + row(nearby, nobody4, listening, "7"), near4, far4, 0, false},
		"closed":                            {row(four, four2, waiting, "0"), near4, far4, 0, false},
		"no list":                           {"odd\n" + row("zz:1", "0", "0A", "7"), near4, far4, 0, false},
	} {
		list, err := readSockets(strings.NewReader(head + c.rows))
		if uid, known := servant(list, c.near, c.far); err != nil || uid != c.uid || known != c.known {
			t.Errorf("%s: %d, %v, %v", name, uid, known, err)
		}
	}
	// A client through either family is known by its own end; who listens says nothing of it.
	for _, rows := range []string{row(four2, four, established, "7"), row(mapped2, mapped, established, "7")} {
		list, err := readSockets(strings.NewReader(head + row(four2, nobody4, listening, "8") + rows))
		if uid, known := owner(list, far4, near4); err != nil || uid != 7 || !known {
			t.Errorf("%d, %v, %v", uid, known, err)
		}
	}
}
