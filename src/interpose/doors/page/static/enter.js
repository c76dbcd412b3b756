// The refresh of the page does the same every two seconds; this only asks at once when somebody comes back to it.
"use strict";
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) location.reload();
});
