# One image for manager, agent and proxy: static programs and the authorities
# that sign the session server's certificate. `make image` makes the same
# without Docker.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS=linux
ARG TARGETARCH
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH GOFLAGS="-trimpath -buildvcs=false"
RUN mkdir /out && flags="-s -w -X main.version=$(cat VERSION)" && \
    go build -ldflags "$flags" -o /out/manager . && go build -ldflags "$flags" -o /out/ ./cmd/agent ./cmd/proxy

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/ /
USER 65532:65532
ENTRYPOINT ["/manager"]
