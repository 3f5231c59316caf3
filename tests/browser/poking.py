"""A script that triggers everything on a page, and returns attributes and links that should not be there."""

# Triggers events on every element, because many known attacks wait for the mouse, the focus or an animation.
POKE = """() => {
    const left = [];
    for (const element of document.querySelectorAll('body *')) {
        // The preview next to a text is a separate document without scripts, and a button can lead to another page.
        const isPreview = element.sandbox?.length && !element.sandbox.contains('allow-scripts');
        const isOurs = {srcdoc: isPreview, formaction: element.getAttribute('formaction')?.startsWith('/admin/')};
        for (const name of element.getAttributeNames().filter((name) => !isOurs[name]))
            if (name.startsWith('on') || ['style', 'srcdoc', 'formaction'].includes(name)) left.push(name);
        if (element.protocol && !['http:', 'https:', 'mailto:', 'tel:', 'about:', ':'].includes(element.protocol))
            left.push(element.href);
        for (const type of ['mouseover', 'pointerenter', 'focus', 'click', 'animationstart', 'toggle', 'error'])
            element.dispatchEvent(new Event(type, {bubbles: true, cancelable: true}));
    }
    return left;
}"""
