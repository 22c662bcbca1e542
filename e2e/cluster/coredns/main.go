// A CoreDNS with only the plugins that a test cluster needs: the full list pulls in every cloud vendor's client library, which
// would triple the build. The order of the directives is the order in which a query passes the plugins.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	dnsserver.Directives = []string{"bind", "errors", "ready", "cache", "kubernetes"}
}

func main() { coremain.Run() }
