package eventlog

import "strings"

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }
