// Package export writes a model of package classify for other programs and for people: as an ONNX
// graph, as a model file of LIBLINEAR or Vowpal Wabbit, as JSON that scikit-learn's linear models
// are made of, and as a model card in Markdown.
//
//	err := export.Write(w, "onnx", model)
//
// The thresholds of the model are subtracted from the intercepts, so that the other program decides
// at 0, or for the class with the largest score, as [classify.Classifier] does. Weights become
// 32-bit floats in ONNX and for Vowpal Wabbit; rows very near a threshold may then be decided
// otherwise. Logarithms, ranks and products of columns, which training may choose, are made of
// standard operators in ONNX and are described in the JSON. Names of features, how inputs map to
// features, and everything about the training stay behind, save in the card.
package export
