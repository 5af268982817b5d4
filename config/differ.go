package config

import "reflect"

// Differ names the keys that two files set differently, in the order of Keys; what a file does not set has its default.
func Differ(a, b File) []string {
	var names []string
	for _, k := range Keys() {
		if !reflect.DeepEqual(k.of(a), k.of(b)) {
			names = append(names, k.Name)
		}
	}
	return names
}

// of is what a checked file makes of the key.
func (k Key) of(f File) any {
	raw, ok := f.Values[k.Name]
	if !ok {
		raw = k.Default
	}
	v, _ := k.read(fromPlain(raw))
	return v
}
