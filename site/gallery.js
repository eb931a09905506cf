// Browsers draw in 3D on about 16 pages at once and take the oldest one's graphics away, so only cards in sight have a page.
const cards = new IntersectionObserver(changes => {
  for (const { target, isIntersecting } of changes) {
    target.replaceChildren();
    if (!isIntersecting) continue;
    const frame = document.createElement("iframe");
    frame.src = frame.title = target.dataset.page;
    frame.style = "width:100%;height:100%;border:0";
    target.append(frame);
  }
}, { rootMargin: "50%" });
document.querySelectorAll(".card").forEach(card => cards.observe(card));
