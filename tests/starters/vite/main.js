import "./style.css";
document.title = import.meta.env.VITE_TITLE ?? document.title;
