// Package serving answers rows with the predictions of a trained classifier and takes their labels
// when they come: it is the core of "noregret score", without its HTTP.
//
//	s, err := serving.New(model, serving.DefaultOptions())
//	predictions, err := s.Predict(block)            // each with an id
//	result := s.Label(predictions[0].ID, "1")       // minutes or days later
//	figures := s.Figures()                          // of what was answered before the label came
//
// A row waits for its label under the id of its prediction. Labels may come in any order, late,
// twice or never. What is measured are the predictions as they were answered: progressive
// validation (Blum, Kalai and Langford 1999; Dawid 1984).
//
// The order of the calls determines everything, ids too: there is no clock and no randomness.
package serving
