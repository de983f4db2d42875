// Sends what was typed on a page of the API, with the CSRF token of the page, and shows the answer.
document.getElementById('request')?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const form = event.target, answer = document.getElementById('answer');
  const body = document.getElementById('body').value.trim();
  const response = await fetch(form.action, {
    method: document.getElementById('method').value,
    headers: {'Content-Type': 'application/json', 'Accept': 'application/json',
              'X-CSRFToken': form.elements.csrfmiddlewaretoken.value},
    body: body || undefined,
  });
  const text = await response.text();
  const isJson = (response.headers.get('Content-Type') || '').includes('json');
  answer.textContent = `${response.status}\n${text && isJson ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
  answer.hidden = false;
});
