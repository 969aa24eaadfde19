package web

import (
	"net/http"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/server/internal/access"
)

// Route is one operation: how it is served, and what the OpenAPI document says of it, which is made
// of the routes and has every one and no others.
type Route struct {
	// Method and Pattern are as in [http.ServeMux].
	Method, Pattern string
	// Role is what the access token must allow.
	Role access.Role
	// Stream is the class of long-running requests that the route belongs to.
	Stream Stream
	// Pages says that pages of the origins of the configuration may call the route from a browser,
	// and that tokens for browsers open it.
	Pages bool
	// Scoped says that the handler itself keeps to the experiments that the access token may use. A
	// route without it, and without an experiment in its path, refuses tokens that may not use all.
	Scoped bool
	// Appends reports whether a request appends to the log, so that a node of a cluster that does
	// not lead passes it on. Nil means that none does.
	Appends func(r *http.Request) bool
	// Compress says that answers are compressed for clients that take it, as those to GET are.
	Compress bool
	Serve    Handler

	// ID and Tag are the operation's name and group, Summary and About say what it does. The
	// document adds the role to the summary.
	ID, Tag, Summary, About string
	// Params is a struct of the parameters, nil for none but those of the path: fields with the tag
	// query, which [ReadQuery] reads, and with the tag header. Other parameters of the query are
	// refused below /v1.
	Params any
	// Body is a value of the type of the body, nil for none. Its media type is JSON unless Media
	// has others.
	Body  any
	Media []string
	// Optional says that the body may be left out, Lenient that it and what is in it may have
	// members that the type has not.
	Optional, Lenient bool
	// Answers are the answers by status; that of 0 is the one to errors, [Problem] by default.
	Answers Answers
}

// Always is [Route].Appends of a route whose every request appends to the log.
func Always(*http.Request) bool { return true }

// Answers are answers by status.
type Answers map[int]Answer

// Answer describes an answer.
type Answer struct {
	// Name is set for what several routes answer.
	Name string
	// Text says what it is.
	Text string
	// Content has a value of the type of the body by media type: a string for text, bytes for what
	// is none, or what the JSON is.
	Content map[string]any
	// Tagged says that the answer has an ETag.
	Tagged bool
}

// Problem is what is wrong, for programs.
var Problem = Answer{
	Name: "Problem", Text: "What is wrong (RFC 9457)",
	Content: map[string]any{"application/problem+json": api.Problem{}},
}

// TooMuch is the answer to a request of too much at once.
var TooMuch = Answer{
	Name: "TooMuch", Text: "Too large a body, too many units or items, or values that are too large together; " +
		"detail says what is allowed. Send fewer at once",
	Content: Problem.Content,
}

// Unchanged is the answer to a client that has what it asks for.
var Unchanged = Answer{Text: "It is the one that the client has"}

// JSON describes an answer of JSON.
func JSON(text string, body any) Answer {
	return Answer{Text: text, Content: map[string]any{"application/json": body}}
}

// Plain describes an answer of text.
func Plain(text string, media ...string) Answer {
	a := Answer{Text: text, Content: map[string]any{}}
	for _, m := range media {
		a.Content[m] = ""
	}
	return a
}
