"""A script that pokes at everything on a page, and says what should not be there."""

# Poke at everything: much of what is known waits for the mouse, the focus or an animation.
POKE = """() => {
    const left = [];
    for (const element of document.querySelectorAll('body *')) {
        // The preview beside a text is a document of its own, in which no script may run; a button may lead to another page.
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
