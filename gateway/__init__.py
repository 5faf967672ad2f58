"""Every door: pages, websockets and REST. Doors parse, call one service, and render."""
