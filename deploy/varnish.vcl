# Varnish in front of the site: docs/how-to/cdn.md. It needs the package varnish-modules.
vcl 4.1;

import directors;
import header;
import std;
import xkey;

# Not /readyz: without a primary the site still answers readers.
probe healthz { .url = "/healthz"; .interval = 2s; .timeout = 5s; .window = 3; .threshold = 1; }

backend first {
    .host = "127.0.0.1";
    .port = "8000";
    .first_byte_timeout = 120s;
    .between_bytes_timeout = 60s;
    .probe = healthz;
}

# The lines with #2 are for a site of two processes, on two ports or machines: sed -i 's/^#2//' takes the marks off.
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

# Who ends TLS in front, and sets X-Forwarded-For.
acl proxies { "127.0.0.1"; "::1"; }

sub vcl_recv {
    set req.http.Host = regsub(std.tolower(req.http.Host), "\.(:\d+)?$", "\1");
    # A door of its own, which no reader reaches: varnishd -a purges=127.0.0.1:6082
    if (local.socket == "purges") {
        if (req.method != "PURGE") {
            return (synth(405));
        }
        return (synth(200, "Dropped " + xkey.purge(req.http.Xkey-Purge)));
    }
    # Varnish has added who asked it: the site wants to know whom that one speaks for.
    if (req.restarts == 0 && client.ip ~ proxies) {
        set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, ",[^,]*$", "");
    }
    # Sessions, messages, and for two seconds those who have just sent something.
    if ((req.method != "GET" && req.method != "HEAD") || req.http.Authorization
        || req.http.Cookie ~ "(^|;\s*)(sessionid|messages|just_sent)=") {
        return (pass);
    }
    # What has ended is shown for so long while it is made anew (stale-while-revalidate); where the site failed, for as long as
    # it is there (stale-if-error).
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
    # Any process; after that one failed, the next.
    if (bereq.retries == 0) {
        set bereq.http.X-Turn = bereq.xid;
    }
    set bereq.backend = site.backend(by=KEY, key=site.key(bereq.http.X-Turn), alt=bereq.retries, healthy=ALL);
#2     # Longer than the site takes for a reader, whatever is broken: a process that hangs is not waited for.
#2     if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")
#2         && !bereq.http.Authorization && bereq.http.Cookie !~ "(^|;\s*)sessionid=") {
#2         set bereq.first_byte_timeout = 10s;
#2     }
}

sub vcl_backend_response {
    if (beresp.status >= 500) {
#2         # The other one may have kept the page.
#2         if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
#2             return (retry);
#2         }
        # Any answer would take the place of what has ended.
        if (bereq.is_bgfetch || !(bereq.uncacheable || bereq.http.X-Again)) {
            return (abandon);
        }
        set beresp.uncacheable = true;
        set beresp.ttl = 0s;
        return (deliver);
    }
    # What has no keys is never dropped: of that only files whose names change with them are kept.
    if (beresp.http.Set-Cookie || !(beresp.http.Cache-Control ~ "s-maxage"
        || (bereq.url ~ "^/static/" && beresp.http.Cache-Control ~ "immutable"))) {
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    # A page that took longer may be older than what was dropped last.
    if (now - std.real2time(std.real(bereq.http.X-Begun, 0.0), now) > 0.6s) {
        set beresp.uncacheable = true;
        set beresp.ttl = 1s;
        return (deliver);
    }
    set beresp.http.xkey = beresp.http.Surrogate-Key;
    # None where the page does not say it.
    set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=(\d+).*$", "\1s"), 0s);
    return (deliver);
}

sub vcl_backend_error {
#2     # What is sent with a body, only if nothing of the body was sent: Varnish does not do it otherwise.
#2     if (bereq.retries == 0
#2         && (bereq.method == "GET" || bereq.method == "HEAD" || bereq.http.Content-Length ~ "[1-9]")) {
#2         return (retry);
#2     }
    if (bereq.is_bgfetch || !(bereq.uncacheable || bereq.http.X-Again)) {
        return (abandon);
    }
}

sub vcl_synth {
    # Once more, with what has ended; without it the site is asked again, and its own answer shown.
    if (resp.status == 503 && req.restarts == 0 && (req.method == "GET" || req.method == "HEAD")) {
        return (restart);
    }
}

sub vcl_deliver {
    if (req.restarts > 0 && obj.hits > 0 && resp.status < 500) {
        set resp.http.Warning = {"110 - "Response is Stale""};
    }
    if (resp.http.Cache-Control ~ "s-maxage") {
        # A reader's browser asks each time.
        set resp.http.Cache-Control = "no-cache";
    }
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.xkey;
    if (req.method == "POST") {
        header.append(resp.http.Set-Cookie, "just_sent=1; Max-Age=2; Path=/; HttpOnly; SameSite=Lax");
    }
}
