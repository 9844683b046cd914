// The page of an editor in a notebook: a frame of its own, and messages between it and Python.
const render = ({ model, el }) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = "Edit the tree";
  Object.assign(frame.style, { width: "100%", height: "820px", border: "0", resize: "vertical", overflow: "auto" });
  frame.srcdoc = model.get("page");
  const fromPage = (event) => {
    if (event.source === frame.contentWindow) model.send(event.data);
  };
  const fromPython = (message) => frame.contentWindow?.postMessage(message, "*");
  window.addEventListener("message", fromPage);
  model.on("msg:custom", fromPython);
  el.append(frame);
  return () => {
    window.removeEventListener("message", fromPage);
    model.off("msg:custom", fromPython);
  };
};
export default { render };
