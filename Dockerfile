# The noregret command in an image that holds nothing else: a static binary, certificates and an
# unprivileged user.
#
#   docker build --tag noregret .
#   docker run --rm noregret --help
#   docker run --rm --publish 8430:8430 --volume noregret:/data \
#     --volume ./tokens.yaml:/etc/noregret/tokens.yaml:ro noregret
#
# Without arguments it runs the decision service, which listens beyond loopback addresses only with
# access tokens: docs/service.md describes their file.
#
# A release takes the binaries that goreleaser has built: --target=release.

FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS base
RUN apk add --no-cache ca-certificates git && mkdir -p /empty/data /empty/tmp && chmod 1777 /empty/tmp

FROM base AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
# As in a release, the arithmetic of training is by vectors on amd64 (internal/dense).
RUN if [ "$TARGETARCH" = amd64 ]; then export GOEXPERIMENT=simd; fi; \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /noregret ./cmd/noregret

FROM scratch AS runtime
COPY --from=base /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=base --chown=65532:65532 /empty/ /
USER 65532:65532
VOLUME /data
EXPOSE 8430
ENTRYPOINT ["/noregret"]
ENV NOREGRET_DATA=/data NOREGRET_LISTEN=:8430 NOREGRET_TOKENS=/etc/noregret/tokens.yaml
CMD ["serve"]

FROM runtime AS release
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/noregret /noregret

FROM runtime
COPY --from=build /noregret /noregret
