# Nothing but the driver server, to be put into pods whose own image does not have it.
FROM scratch
COPY airlock-driver /airlock-driver
USER 185:0
ENTRYPOINT ["/airlock-driver"]
