// Package budgets reads privacy ledgers for people and programs: the budget of each account, what
// is spent and what remains, and the runs with their costs. It changes nothing in a ledger. The
// JSON form of an [Account] is what "noregret privacy ledger --json" prints.
package budgets
