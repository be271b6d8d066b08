"""The client's side of TLS: trusts one certificate, and leaves no socket behind when a handshake fails."""

import ssl


class _Socket(ssl.SSLSocket):
    """Closes itself when the handshake fails: paho drops such a socket without closing it."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - the standard library's signature
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def client_context(certificate_pem: str) -> ssl.SSLContext:
    """Trusts this certificate alone and wants the address of the peer to stand in it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=certificate_pem)
    context.sslsocket_class = _Socket
    return context
