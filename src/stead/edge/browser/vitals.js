// Measures the web vitals of one page view and sends them once, when the page is hidden. Nothing is stored in the browser, and
// nothing that identifies the visitor is sent: the values, and the id of the page view that the server has given it.
(() => {
  if (!window.PerformanceObserver || !navigator.sendBeacon || navigator.globalPrivacyControl) return;
  const [navigation] = performance.getEntriesByType('navigation');
  const given = navigation && (navigation.serverTiming || []).find((each) => each.name === 'trace');
  if (!given) return;
  const values = {}, interactions = new Map(), began = navigation.activationStart || 0;
  const since = (time) => Math.max(time - began, 0);
  const observe = (type, use, more) => {
    try {
      const observer = new PerformanceObserver((list) => list.getEntries().forEach(use));
      observer.observe({ type, buffered: true, ...more });
      return () => observer.takeRecords().forEach(use);
    } catch {
      return () => {};
    }
  };
  // The largest sum of layout shifts that follow each other within a second, for at most five.
  let sum = 0, first = 0, last = 0;
  const shifted = (entry) => {
    if (entry.hadRecentInput) return;
    if (sum && (entry.startTime - last > 1000 || entry.startTime - first > 5000)) sum = 0;
    if (!sum) first = entry.startTime;
    last = entry.startTime;
    sum += entry.value;
    values.CLS = Math.max(values.CLS || 0, sum);
  };
  const interacted = (entry) => {
    if (entry.interactionId) {
      interactions.set(entry.interactionId, Math.max(interactions.get(entry.interactionId) || 0, entry.duration));
    }
  };
  const finish = [
    observe('largest-contentful-paint', (entry) => { values.LCP = since(entry.startTime); }),
    observe('paint', (entry) => {
      if (entry.name === 'first-contentful-paint') {
        values.FCP = since(entry.startTime);
        values.CLS = values.CLS || 0;
      }
    }),
    observe('layout-shift', shifted),
    observe('event', interacted, { durationThreshold: 40 }),
    observe('first-input', interacted),
  ];
  // A page that was shown only later, or in a background tab, says nothing about the site.
  const wasHidden = document.visibilityState === 'hidden';
  const send = () => {
    if (document.visibilityState !== 'hidden') return;
    removeEventListener('visibilitychange', send, true);
    finish.forEach((take) => take());
    if (wasHidden) return;
    values.TTFB = since(navigation.responseStart);
    // One of fifty interactions may be an exception.
    const longest = [...interactions.values()].sort((a, b) => b - a);
    if (longest.length) values.INP = longest[Math.min(Math.floor(longest.length / 50), longest.length - 1)];
    const measured = Object.entries(values).map(([name, value]) => `${name}=${value.toFixed(4)}`);
    navigator.sendBeacon('/_stead/vitals', [`trace=${given.description}`, ...measured].join(';'));
  };
  addEventListener('visibilitychange', send, true);
})();
