# Varnish in front of the site (docs/how-to/cdn.md). This file requires the varnish-modules package.
vcl 4.1;

import directors;
import header;
import std;
import xkey;

# /readyz is unsuitable, because the site can serve readers even if there is no primary.
probe healthz { .url = "/healthz"; .interval = 2s; .timeout = 5s; .window = 3; .threshold = 1; }

backend first {
    .host = "127.0.0.1";
    .port = "8000";
    .first_byte_timeout = 120s;
    .between_bytes_timeout = 60s;
    .probe = healthz;
}

# Lines with #2 are for a site with two processes, on two ports or machines. To enable these lines, run:
# sed -i 's/^#2//'
#2 backend second {
#2     .host = "127.0.0.1";
#2     .port = "8001";
#2     .first_byte_timeout = 120s;
#2     .between_bytes_timeout = 60s;
#2     .probe = healthz;
#2 }

sub vcl_init {
    new site = directors.shard();
    site.add_backend(first);
#2     site.add_backend(second);
    site.reconfigure();
}

# The proxies that terminate TLS in front of Varnish, and that set X-Forwarded-For.
acl proxies { "127.0.0.1"; "::1"; }

sub vcl_recv {
    set req.http.Host = regsub(std.tolower(req.http.Host), "\.(:\d+)?$", "\1");
    # Purge requests have their own socket, which readers can't reach: varnishd -a purges=127.0.0.1:6082
    if (local.socket == "purges") {
        if (req.method != "PURGE") {
            return (synth(405));
        }
        return (synth(200, "Dropped " + xkey.purge(req.http.Xkey-Purge)));
    }
    # Remove the proxy's IP address, which Varnish has appended, because the site needs the client's IP address.
    if (req.restarts == 0 && client.ip ~ proxies) {
        set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, ",[^,]*$", "");
    }
    # Don't cache requests with a session or messages, or from clients that have submitted a form in the last two
    # seconds.
    if ((req.method != "GET" && req.method != "HEAD") || req.http.Authorization
        || req.http.Cookie ~ "(^|;\s*)(sessionid|messages|just_sent)=") {
        return (pass);
    }
    # An expired page is served for 10 seconds while a new one is fetched (stale-while-revalidate). If the site fails,
    # the expired page is served for as long as it is stored (stale-if-error).
    if (req.restarts == 0) {
        set req.grace = 10s;
        unset req.http.X-Again;
    } else {
        set req.grace = 365d;
        set req.http.X-Again = "1";
    }
    return (hash);
}

sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
}

sub vcl_backend_fetch {
    set bereq.http.X-Begun = std.time2real(now, 0.0);
    # Choose any process. If that process has failed, choose the next one.
    if (bereq.retries == 0) {
        set bereq.http.X-Turn = bereq.xid;
    }
    set bereq.backend = site.backend(by=KEY, key=site.key(bereq.http.X-Turn), alt=bereq.retries, healthy=ALL);
#2     # Don't wait for a process that hangs. Whatever fails, the site never takes this long to serve a reader.
#2     if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")
#2         && !bereq.http.Authorization && bereq.http.Cookie !~ "(^|;\s*)sessionid=") {
#2         set bereq.first_byte_timeout = 10s;
#2     }
}

sub vcl_backend_response {
    if (beresp.status >= 500) {
#2         # The other process may have the page in its cache.
#2         if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
#2             return (retry);
#2         }
        # Don't store an error response, because it would replace the expired page.
        if (bereq.is_bgfetch || !(bereq.uncacheable || bereq.http.X-Again)) {
            return (abandon);
        }
        set beresp.uncacheable = true;
        set beresp.ttl = 0s;
        return (deliver);
    }
    # Responses without keys are never purged, so cache only files whose names change with their content.
    if (beresp.http.Set-Cookie || !(beresp.http.Cache-Control ~ "s-maxage"
        || (bereq.url ~ "^/static/" && beresp.http.Cache-Control ~ "immutable"))) {
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    # If the response took longer than this, it may be older than the last purge.
    if (now - std.real2time(std.real(bereq.http.X-Begun, 0.0), now) > 0.35s) {
        set beresp.uncacheable = true;
        set beresp.ttl = 1s;
        return (deliver);
    }
    set beresp.http.xkey = beresp.http.Surrogate-Key;
    # The grace period is zero if the page doesn't set stale-if-error.
    set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=(\d+).*$", "\1s"), 0s);
    return (deliver);
}

sub vcl_backend_error {
#2     # Varnish can retry a request with a body only if none of the body has been sent.
#2     if (bereq.retries == 0
#2         && (bereq.method == "GET" || bereq.method == "HEAD" || bereq.http.Content-Length ~ "[1-9]")) {
#2         return (retry);
#2     }
    if (bereq.is_bgfetch || !(bereq.uncacheable || bereq.http.X-Again)) {
        return (abandon);
    }
}

sub vcl_synth {
    # Try again with the expired page. If there is none, send the request to the site again and return its response.
    if (resp.status == 503 && req.restarts == 0 && (req.method == "GET" || req.method == "HEAD")) {
        return (restart);
    }
}

sub vcl_deliver {
    if (req.restarts > 0 && obj.hits > 0 && resp.status < 500) {
        set resp.http.Warning = {"110 - "Response is Stale""};
    }
    if (resp.http.Cache-Control ~ "s-maxage") {
        # Browsers must revalidate the page on every request.
        set resp.http.Cache-Control = "no-cache";
    }
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.xkey;
    if (req.method == "POST") {
        header.append(resp.http.Set-Cookie, "just_sent=1; Max-Age=2; Path=/; HttpOnly; SameSite=Lax");
    }
}
