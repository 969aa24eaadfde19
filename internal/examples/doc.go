// Package examples holds definitions of experiments to begin with, one for each kind of question.
// They have comments, as they are also the first page that many users read. The command "noregret
// experiment example NAME" prints them.
package examples
