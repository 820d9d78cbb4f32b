// Requests to the server that this page came from. Errors carry the server's own words.

async function answer(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const found = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = new Error(found.error ?? `The server answered with status ${response.status}.`);
    error.status = response.status;
    throw error;
  }
  return found;
}

export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return answer("GET", query ? `${path}?${query}` : path);
}

export const post = (path, body = {}) => answer("POST", path, body);
export const remove = (path) => answer("DELETE", path);
