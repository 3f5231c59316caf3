// Globals of scripts in static/vendor, which have no types of their own.
interface Window {
  EasyMDE: any;
}
